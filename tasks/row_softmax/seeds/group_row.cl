// group_row.cl - the shape of a GPU kernel: a group of LX items works on one row. Each item goes through
// every LX-th vector of the row, and two trees in local memory join the items' largest values and sums.
// ROWS rows follow one another in a group.

// [EVOLVE_START]
//kf: param LX = 16 in {4, 8, 16, 32, 64, 128, 256}
//kf: param VEC = 4 in {1, 2, 4, 8, 16}
//kf: param KEEP = 0 in {0, 1}
//kf: param ROWS = 1 in {1, 2, 4, 8}
//kf: launch row_softmax global=(ceil(rows, ROWS) * LX) local=(LX) args=(x, y, rows, cols)

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

__kernel void row_softmax(__global const float *x, __global float *y, int rows, int cols) {
  __local float tree[LX];
  const int lane = get_local_id(0);
  const int full = cols - cols % VEC;
  float each[VEC];

  // The last group may have fewer rows; all its items run the same count, so the barriers are uniform.
  const int row0 = get_group_id(0) * ROWS;
  for (int row = row0; row < min(row0 + ROWS, rows); row++) {
    __global const float *in = x + row * cols;
    __global float *out = y + row * cols;

    FV top = (FV)(-INFINITY);
    for (int c = lane * VEC; c < full; c += LX * VEC)
      top = fmax(top, LOAD(0, in + c));
    STORE(top, 0, each);
    float largest = each[0];
    for (int i = 1; i < VEC; i++)
      largest = fmax(largest, each[i]);
    for (int c = full + lane; c < cols; c += LX)
      largest = fmax(largest, in[c]);
    tree[lane] = largest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = LX / 2; reach > 0; reach /= 2) {
      if (lane < reach)
        tree[lane] = fmax(tree[lane], tree[lane + reach]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    largest = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    FV part = (FV)(0.0f);
    for (int c = lane * VEC; c < full; c += LX * VEC) {
      const FV e = exp(LOAD(0, in + c) - largest);
      part += e;
#if KEEP
      STORE(e, 0, out + c);
#endif
    }
    STORE(part, 0, each);
    float sum = each[0];
    for (int i = 1; i < VEC; i++)
      sum += each[i];
    for (int c = full + lane; c < cols; c += LX)
      sum += exp(in[c] - largest);
    tree[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = LX / 2; reach > 0; reach /= 2) {
      if (lane < reach)
        tree[lane] += tree[lane + reach];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float scale = 1.0f / tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int c = lane * VEC; c < full; c += LX * VEC) {
#if KEEP
      const FV e = LOAD(0, out + c);
#else
      const FV e = exp(LOAD(0, in + c) - largest);
#endif
      STORE(e * scale, 0, out + c);
    }
    for (int c = full + lane; c < cols; c += LX)
      out[c] = exp(in[c] - largest) * scale;
  }
}
// [EVOLVE_END]
