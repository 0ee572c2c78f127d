// expect: memory=1 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: scale x y -
// evidence: vector_width=2
float2 fetch(__global const float *p, int i);
__kernel void scale(__global const float *x, __global float *y, float f) {
  const int i = get_global_id(0);
  const float2 v = fetch(x, i);
  y[i] = (v.x + v.y) * f;
}
float2 fetch(__global const float *p, int i) { return vload2(i, p); }
