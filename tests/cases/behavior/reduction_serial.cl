// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: group_sum x y -
// evidence: staged_local=0
// One item adds up what all have stored.
__kernel void group_sum(__global const float *x, __global float *y, int n) {
  __local float scratch[64];
  const int lid = get_local_id(0);
  scratch[lid] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid != 0) return;
  float sum = 0.0f;
  for (int i = 0; i < 64; i++) sum += scratch[i];
  y[get_group_id(0)] = sum;
}
