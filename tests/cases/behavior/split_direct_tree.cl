// expect: memory=0 algorithm=3 coordination=3 matrix=0
// buffers: x=in y=out part=temp
// launch: reduce x part -
// launch: reduce part y -
// evidence: split_reduction=1 staged_local=0
// The same kernel twice; each item loads one element.
__kernel void reduce(__global const float *x, __global float *y, int n) {
  __local float scratch[128];
  const int lid = get_local_id(0), i = get_global_id(0);
  scratch[lid] = i < n ? x[i] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 64; s > 0; s >>= 1) {
    if (lid < s) scratch[lid] += scratch[lid + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) y[get_group_id(0)] = scratch[0];
}
