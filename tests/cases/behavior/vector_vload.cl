// expect: memory=1 algorithm=0 coordination=0 matrix=0
// options: -DVEC=8
// buffers: x=in y=out
// launch: scale x y -
// evidence: vector_width=8
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
__kernel void scale(__global const float *x, __global float *y, float f) {
  const int i = get_global_id(0);
  JOIN(float, VEC) v = JOIN(vload, VEC)(i, x);
  JOIN(vstore, VEC)(v * f, i, y);
}
