// expect: memory=1 algorithm=0 coordination=0 matrix=0
// options: -cl-std=CL2.0
// buffers: x=in y=out
// launch: k x y
// The address space is known from what is passed, not from the type.
float4 get(const float *p, int i) {
  return vload4(i, p);
}
__kernel void k(__global const float *x, __global float *y) {
  int i = get_global_id(0);
  y[i] = get(x, i).x + 1;
}
