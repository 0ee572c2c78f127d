// expect: memory=1 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: k x y
// Halves loaded four at a time as floats.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global const half *x, __global half *y) {
  int i = get_global_id(0);
  float4 v = vload_half4(i, x);
  vstore_half4(v * 2.0f, i, y);
  half h = x[0];
  y[1] = h;
}
