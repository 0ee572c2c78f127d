// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: k x y - -
// A tile with its halo, both dimensions in one index.
#define W 16
#define R 1
__kernel void k(__global const float *x, __global float *y, int w, int h) {
  __local float t[(W + 2 * R) * (W + 2 * R)];
  int lx = get_local_id(0), ly = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
  for (int i = ly * W + lx; i < (W + 2) * (W + 2); i += W * W) {
    int px = clamp((int)(get_group_id(0) * W) + i % (W + 2) - R, 0, w - 1),
        py = clamp((int)(get_group_id(1) * W) + i / (W + 2) - R, 0, h - 1);
    t[i] = x[py * w + px];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float m = -INFINITY;
  for (int dy = -R; dy <= R; dy++)
    for (int dx = -R; dx <= R; dx++)
      m = fmax(m, t[(ly + R + dy) * (W + 2) + lx + R + dx]);
  y[gy * w + gx] = m;
}
