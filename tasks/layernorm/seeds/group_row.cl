// group_row.cl - the shape of a GPU kernel: a group of LX items works on one row. Each item goes through
// every LX-th vector of the row, and a tree in local memory joins the items' sums, once for the mean and
// once for the variance. ROWS rows follow one another in a group.

// [EVOLVE_START]
//kf: param LX = 16 in {4, 8, 16, 32, 64, 128, 256}
//kf: param VEC = 4 in {1, 2, 4, 8, 16}
//kf: param ROWS = 1 in {1, 2, 4, 8}
//kf: launch layernorm global=(ceil(rows, ROWS) * LX) local=(LX) args=(x, gamma, beta, y, rows, cols)

#if VEC == 1
#define FV float
#define LOAD(i, p) ((p)[i])
#define STORE(v, i, p) ((p)[i] = (v))
#else
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)
#endif

// The sum of `part` and `rest` over all items of the group, the same in each of them.
float group_total(FV part, float rest, __local float *tree) {
  const int lane = get_local_id(0);
  float each[VEC];
  STORE(part, 0, each);
  for (int i = 0; i < VEC; i++)
    rest += each[i];
  tree[lane] = rest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = LX / 2; reach > 0; reach /= 2) {
    if (lane < reach)
      tree[lane] += tree[lane + reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float all = tree[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return all;
}

__kernel void layernorm(__global const float *x, __global const float *gamma, __global const float *beta,
                        __global float *y, int rows, int cols) {
  __local float tree[LX];
  const int lane = get_local_id(0);
  const int full = cols - cols % VEC;

  // The last group may have fewer rows; all its items run the same count, so the barriers are uniform.
  const int row0 = get_group_id(0) * ROWS;
  for (int row = row0; row < min(row0 + ROWS, rows); row++) {
    __global const float *in = x + row * cols;
    __global float *out = y + row * cols;

    FV part = (FV)(0.0f);
    float rest = 0.0f;
    for (int c = lane * VEC; c < full; c += LX * VEC)
      part += LOAD(0, in + c);
    for (int c = full + lane; c < cols; c += LX)
      rest += in[c];
    const float mean = group_total(part, rest, tree) / cols;

    part = (FV)(0.0f);
    rest = 0.0f;
    for (int c = lane * VEC; c < full; c += LX * VEC) {
      const FV d = LOAD(0, in + c) - mean;
      part += d * d;
    }
    for (int c = full + lane; c < cols; c += LX)
      rest += (in[c] - mean) * (in[c] - mean);
    const float variance = group_total(part, rest, tree) / cols;

    const float scale = 1.0f / sqrt(variance + 1e-5f);
    for (int c = lane * VEC; c < full; c += LX * VEC)
      STORE((LOAD(0, in + c) - mean) * scale * LOAD(0, gamma + c) + LOAD(0, beta + c), 0, out + c);
    for (int c = full + lane; c < cols; c += LX)
      out[c] = (in[c] - mean) * scale * gamma[c] + beta[c];
  }
}
// [EVOLVE_END]
