//kf: launch f<4> global=(1) local=(1) cluster=(2) cooperative shared=4 args=(tensormap(x, dims=(1)))
