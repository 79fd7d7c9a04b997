// Checks which process makes which matrix orthogonal.
#include "sing/backend/matrix_owners.hpp"

#include <gtest/gtest.h>

namespace sing {
namespace {

using Owners = std::vector<std::size_t>;

// The work is rows × columns × the smaller of them: 16, 64, 1, 32.
TEST(MatrixOwners, TheLargestMatrixGoesToTheProcessWithLeastWork) {
  const std::vector<Matrices> matrices = {{.rows = 2, .columns = 4},
                                          {.rows = 4, .columns = 4},
                                          {.rows = 1, .columns = 1},
                                          {.rows = 8, .columns = 2}};
  EXPECT_EQ(assign_owners(matrices, 2), (Owners{1, 0, 1, 1}));
  EXPECT_EQ(assign_owners(matrices, 3), (Owners{2, 0, 2, 1}));
  EXPECT_EQ(assign_owners(matrices, 1), (Owners{0, 0, 0, 0}));
}

TEST(MatrixOwners, EqualMatricesAreDealtInTheirOrder) {
  const std::vector<Matrices> matrices(5, {.rows = 3, .columns = 3});
  EXPECT_EQ(assign_owners(matrices, 2), (Owners{0, 1, 0, 1, 0}));
}

TEST(MatrixOwners, MoreProcessesThanMatricesHaveOneAtMost) {
  const std::vector<Matrices> matrices = {{.rows = 2, .columns = 2}, {.rows = 4, .columns = 4}};
  EXPECT_EQ(assign_owners(matrices, 8), (Owners{1, 0}));
}

}  // namespace
}  // namespace sing
