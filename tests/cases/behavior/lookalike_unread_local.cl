// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: copy x y
// evidence: staged_local=0
// Stored to local memory and never read, or read back by the same item.
__kernel void copy(__global const float *x, __global float *y) {
  __local float unread[64], own[64];
  const int lid = get_local_id(0), i = get_global_id(0);
  unread[lid] = x[i];
  own[lid] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = own[lid];
}
