// expect: memory=0 algorithm=0 coordination=2 matrix=0
// buffers: x=in y=out
// launch: swap x y
__kernel void swap(__global const float *x, __global float *y) {
  const int i = get_global_id(0);
  y[i] = intel_sub_group_shuffle_xor(x[i], 1);
}
