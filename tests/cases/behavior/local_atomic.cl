// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: histogram x y -
// evidence: global_atomic=0 staged_local=0
__kernel void histogram(__global const uchar *x, __global int *y, int n) {
  __local int bins[256];
  const int lid = get_local_id(0);
  bins[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = lid; i < n; i += 256) atomic_inc(&bins[x[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_group_id(0) * 256 + lid] = bins[lid];
}
