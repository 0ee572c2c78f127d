// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: transpose x y - -
// evidence: sweeps=1
#define T 16
__kernel void transpose(__global const float *x, __global float *y, int rows, int cols) {
  __local float tile[T][T + 1];
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int gx = get_group_id(0) * T, gy = get_group_id(1) * T;
  if (gy + ly < rows && gx + lx < cols) tile[ly][lx] = x[(gy + ly) * cols + gx + lx];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (gx + ly < cols && gy + lx < rows) y[(gx + ly) * rows + gy + lx] = tile[lx][ly];
}
