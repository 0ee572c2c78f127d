// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: blur x y local -
// evidence: vector_width=1
void fill(__local float *to, __global const float *from, int count) {
  for (int i = get_local_id(0); i < count; i += get_local_size(0)) to[i] = from[i];
}
__kernel void blur(__global const float *x, __global float *y, __local float *line, int n) {
  const int lid = get_local_id(0), base = get_group_id(0) * get_local_size(0);
  fill(line, x + base, get_local_size(0) + 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (base + lid < n) y[base + lid] = 0.25f * line[lid] + 0.5f * line[lid + 1] + 0.25f * line[lid + 2];
}
