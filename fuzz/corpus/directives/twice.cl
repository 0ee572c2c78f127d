//kf: param A = 1 in {1, 2}
//kf: param A = 2
