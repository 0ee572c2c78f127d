// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: w=in x=in y=out
// launch: filter w x y -
// The weights are staged once and read at constant places.
__kernel void filter(__global const float *w, __global const float *x, __global float *y, int n) {
  __local float weight[3];
  const int lid = get_local_id(0), i = get_global_id(0);
  if (lid < 3) weight[lid] = w[lid];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i > 0 && i < n - 1) y[i] = weight[0] * x[i - 1] + weight[1] * x[i] + weight[2] * x[i + 1];
}
