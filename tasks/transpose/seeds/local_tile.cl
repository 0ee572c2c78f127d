// local_tile.cl - the shape of a GPU kernel: a group of TILE x LY items copies a TILE x TILE square to
// local memory along rows, then writes it along the rows of y. PAD elements at the end of a tile row keep
// the column reads off one bank (or cache set).

// [EVOLVE_START]
//kf: param TILE = 32 in {8, 16, 32, 64}
//kf: param LY = 8 in {1, 2, 4, 8, 16, 32}
//kf: param PAD = 1 in {0, 1, 2, 4}
//kf: where LY <= TILE
//kf: let GX = ceil(cols, TILE) * TILE
//kf: let GY = ceil(rows, TILE) * LY
//kf: launch transpose global=(GX, GY) local=(TILE, LY) args=(x, y, rows, cols)

__kernel void transpose(__global const float *x, __global float *y, int rows, int cols) {
  __local float tile[TILE][TILE + PAD];
  const int tx = get_local_id(0);
  const int ty = get_local_id(1);
  const int c0 = get_group_id(0) * TILE;
  const int r0 = get_group_id(1) * TILE;
  for (int i = ty; i < TILE; i += LY)
    if (r0 + i < rows && c0 + tx < cols)
      tile[i][tx] = x[(r0 + i) * cols + c0 + tx];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = ty; i < TILE; i += LY)
    if (c0 + i < cols && r0 + tx < rows)
      y[(c0 + i) * rows + r0 + tx] = tile[tx][i];
}
// [EVOLVE_END]
