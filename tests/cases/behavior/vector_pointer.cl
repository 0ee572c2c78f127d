// expect: memory=1 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: scale x y -
// evidence: vector_width=4
__kernel void scale(__global const float *x, __global float4 *y, float f) {
  const int i = get_global_id(0);
  __global const float4 *x4 = (__global const float4 *)x;
  y[i] = x4[i] * f;
}
