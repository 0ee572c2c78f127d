// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: group_max x y -
// evidence: staged_local=0
// Scratch of a reduction that holds loaded values as they are, combined through a helper and a temporary.
float larger(float a, float b) { return a > b ? a : b; }
__kernel void group_max(__global const float *x, __global float *y, int n) {
  __local float scratch[256];
  const int lid = get_local_id(0), i = get_global_id(0);
  scratch[lid] = i < n ? x[i] : -INFINITY;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0) / 2; s > 0; s /= 2) {
    float other = lid < s ? scratch[lid + s] : -INFINITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < s) scratch[lid] = larger(scratch[lid], other);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) y[get_group_id(0)] = scratch[0];
}
