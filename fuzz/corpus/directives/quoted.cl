/*
//kf: x
*/ const char *s = "\
//kf: y";
#define G (1)
//kf: launch f global=(1) local=(1) args=()
