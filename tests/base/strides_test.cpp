// Checks which strides are dense and which are contiguous, and copies from one order to another.
#include "sing/base/strides.hpp"

#include <gtest/gtest.h>

namespace sing {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Strides, ContiguousOnesAreProductsOfTheLaterAxes) {
  EXPECT_EQ(contiguous_strides(Shape{4, 3, 5}), (Shape{15, 5, 1}));
  EXPECT_EQ(contiguous_strides(Shape{7}), Shape{1});
  EXPECT_EQ(contiguous_strides(Shape{}), Shape{});
  EXPECT_TRUE(is_contiguous(Shape{4, 1, 5}, Shape{5, 77, 1}));  // one element along axis 1
  EXPECT_FALSE(is_contiguous(Shape{4, 3, 5}, Shape{15, 1, 3}));
}

TEST(Strides, DenseOnesHaveNeitherGapsNorOverlaps) {
  EXPECT_TRUE(is_dense(Shape{4, 3, 5}, Shape{15, 1, 3}));
  EXPECT_TRUE(is_dense(Shape{4, 3, 5}, Shape{1, 20, 4}));
  EXPECT_TRUE(is_dense(Shape{4, 1}, Shape{1, 0}));
  EXPECT_TRUE(is_dense(Shape{}, Shape{}));
  EXPECT_FALSE(is_dense(Shape{4, 3}, Shape{6, 1}));  // a gap after each row
  EXPECT_FALSE(is_dense(Shape{4, 3}, Shape{6, 2}));
  EXPECT_FALSE(is_dense(Shape{4, 3}, Shape{1, 0}));  // expanded
  EXPECT_FALSE(is_dense(Shape{4, 3}, Shape{1, 1}));
  EXPECT_FALSE(is_dense(Shape{4}, Shape{-1}));
}

TEST(Strides, OfATensorWithoutElementsMeanNothing) {
  EXPECT_TRUE(is_dense(Shape{5, 0, 1}, Shape{0, 1, 0}));
  EXPECT_TRUE(is_contiguous(Shape{5, 0, 1}, Shape{0, 1, 0}));
}

TEST(Strides, ReorderPutsEveryElementWhereItsIndicesSay) {
  const Shape shape{2, 3, 4};
  const Shape turned{1, 2, 6};  // axis 0 varies fastest
  const Shape plain = contiguous_strides(shape);
  std::vector<std::int16_t> source(24);
  std::vector<std::int16_t> result(24, -1);
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::int16_t>(100 + i);
  }
  reorder(reinterpret_cast<std::byte*>(result.data()), turned,
          reinterpret_cast<const std::byte*>(source.data()), plain, shape, sizeof(std::int16_t));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(result[i + 2 * j + 6 * k], 100 + static_cast<int>(12 * i + 4 * j + k));
      }
    }
  }
}

}  // namespace
}  // namespace sing
