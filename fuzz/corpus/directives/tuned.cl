// [EVOLVE_START]
//kf: param TILE = 16 in {8, 16, 32}
//kf: param VEC = 4 in [1..8 pow2]
//kf: param N = 3 in [1..9 step 2]
//kf: param T = float4 in {float, float4}
//kf: param FIX = -2
//kf: where TILE * VEC <= 64 && cols % VEC == 0 && T == float4
//kf: let groups = ceil(rows, TILE)
//kf: temp partial f32 [rows, 2]
//kf: fill y 0
//kf: fill partial -inf
//kf: launch a global=(groups*TILE, 2) local=(TILE, 1) args=(x, partial, local(TILE*4), groups, N, f16(2))
//kf: launch b if=rows > 1 args=(partial, y, alpha, rows, i64(dev.units)) local=(1) global=(rows)
#define F(x) ((x) + 1)
kernel void a() { char c = '"'; /* "//kf: no */ } // \
//kf: no
// [EVOLVE_END]
