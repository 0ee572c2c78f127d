// expect: memory=2 algorithm=2 coordination=1 matrix=0
// base: operations=1 sweeps=3
// buffers: x=in y=out
// launch: softmax x y -
// evidence: sweeps=1 staged_local=1
// A row is read once into local memory, which the later passes read.
#define G 64
float group_all(__local float *part, float v, bool largest) {
  const int lid = get_local_id(0);
  part[lid] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = G / 2; s > 0; s >>= 1) {
    if (lid < s) part[lid] = largest ? fmax(part[lid], part[lid + s]) : part[lid] + part[lid + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float all = part[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return all;
}
__kernel void softmax(__global const float *x, __global float *y, int cols) {
  __local float row[4096], part[G];
  const int lid = get_local_id(0), base = get_group_id(0) * cols;
  float m = -INFINITY, sum = 0.0f;
  for (int c = lid; c < cols; c += G) {
    row[c] = x[base + c];
    m = fmax(m, row[c]);
  }
  m = group_all(part, m, true);
  for (int c = lid; c < cols; c += G) {
    row[c] = exp(row[c] - m);
    sum += row[c];
  }
  sum = group_all(part, sum, false);
  for (int c = lid; c < cols; c += G) y[base + c] = row[c] / sum;
}
