// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: a=in l=out
// launch: factor a l
// In-place work on a tile is no reduction: its elements are multiplied and subtracted.
__kernel void factor(__global const float *a, __global float *l) {
  __local float t[16][16];
  const int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = a[y * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; k++) {
    if (x == k && y > k) t[y][k] /= t[k][k];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x > k && y > k) t[y][x] -= t[y][k] * t[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  l[y * 16 + x] = t[y][x];
}
