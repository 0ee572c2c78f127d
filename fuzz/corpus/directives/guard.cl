//kf: where K > 0
//kf: let q = rows / K
//kf: param K = 0 in {0, 1}
//kf: launch f global=(64) local=(64) args=(q)