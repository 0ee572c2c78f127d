// expect: memory=0 algorithm=3 coordination=3 matrix=0
// buffers: x=in y=out part=temp
// launch: partial x part -
// launch: total part y -
// evidence: split_reduction=1 joined_launches=1 staged_local=0
__kernel void partial(__global const float *x, __global float *part, int n) {
  __local float scratch[64];
  const int lid = get_local_id(0);
  float sum = 0.0f;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i];
  scratch[lid] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s > 0; s >>= 1) {
    if (lid < s) scratch[lid] += scratch[lid + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) part[get_group_id(0)] = scratch[0];
}
__kernel void total(__global const float *part, __global float *y, int groups) {
  float sum = 0.0f;
  for (int g = 0; g < groups; g++) sum += part[g];
  y[0] = sum;
}
