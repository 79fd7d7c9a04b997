// Checks how shapes are split into rows and matrices, against multi-dimensional indices.
#include "sing/base/layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sing {
namespace {

using Shape = std::vector<std::int64_t>;

// Returns the index along each axis of an element of a dense tensor, last axis fastest.
Shape indices_of(const Shape& shape, std::int64_t element) {
  Shape indices(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return indices;
}

TEST(Layout, ARowIsOneIndexOfTheCentralizedAxis) {
  const Shape shape{3, 4, 5, 2};
  for (std::int64_t axis = 0; axis < 4; ++axis) {
    const Layout layout = make_layout(shape, axis);
    EXPECT_EQ(layout.rows, shape[static_cast<std::size_t>(axis)]);
    EXPECT_EQ(layout.row_length() * layout.rows, layout.size);
    for (std::int64_t i = 0; i < layout.size; ++i) {
      ASSERT_EQ((i / layout.inner) % layout.rows,
                indices_of(shape, i)[static_cast<std::size_t>(axis)])
          << "element " << i << " axis " << axis;
    }
  }
}

TEST(Layout, RowsAreThoseOfTheIndicesInEveryOrderOfTheAxes) {
  const Shape shape{3, 4, 1, 2};
  for (const Shape& strides : {Shape{8, 1, 8, 4}, Shape{1, 6, 5, 3}, Shape{2, 6, 0, 1}}) {
    for (std::int64_t axis = 0; axis < 4; ++axis) {
      const Layout layout = make_layout(shape, strides, axis);
      EXPECT_EQ(layout.row_length() * layout.rows, layout.size);
      for (std::int64_t i = 0; i < layout.size; ++i) {
        const Shape at = indices_of(shape, i);
        const std::int64_t place = at[0] * strides[0] + at[1] * strides[1] + at[3] * strides[3];
        ASSERT_EQ((place / layout.inner) % layout.rows, at[static_cast<std::size_t>(axis)])
            << "element " << i << " axis " << axis;
      }
    }
  }
}

TEST(Layout, MatricesAreTheLastTwoAxes) {
  const Shape shape{3, 4, 5, 2};
  const Layout layout = make_layout(shape, 1);
  EXPECT_EQ(layout.matrices, 12);
  EXPECT_EQ(layout.matrix_rows, 5);
  EXPECT_EQ(layout.columns, 2);
  EXPECT_EQ(layout.matrix_row_count(), 60);
  EXPECT_EQ(layout.matrix_column_count(), 24);
  for (std::int64_t i = 0; i < layout.size; ++i) {
    const Shape at = indices_of(shape, i);
    ASSERT_EQ(i % layout.columns, at[3]);
    ASSERT_EQ(i / layout.columns, (at[0] * 4 + at[1]) * 5 + at[2]);
  }
}

TEST(Layout, RankZeroAndOneAreOneRowAndNotFactored) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{9}}) {
    const Layout layout = make_layout(shape, 0);
    EXPECT_EQ(layout.size, shape.empty() ? 1 : shape[0]);
    EXPECT_EQ(layout.rank, static_cast<std::int64_t>(shape.size()));
    EXPECT_EQ(layout.rows, 1);
    EXPECT_EQ(layout.row_length(), layout.size);
    EXPECT_FALSE(layout.factored());
  }
}

TEST(Layout, ATrailingOneMakesRowsOfOneElement) {
  const Layout layout = make_layout(Shape{5, 1}, 0);
  EXPECT_EQ(layout.rows, 5);
  EXPECT_EQ(layout.row_length(), 1);
  EXPECT_TRUE(layout.factored());
}

TEST(Layout, EmptyTensorsHaveNoElements) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 4}}) {
    EXPECT_EQ(make_layout(shape, 0).size, 0);
  }
  EXPECT_EQ(make_layout(Shape{3, 0}, 0).row_length(), 0);
}

TEST(Layout, SizesBeyond32BitsAreKept) {
  const Layout layout = make_layout(Shape{1 << 20, 1 << 20}, 0);
  EXPECT_EQ(layout.size, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace sing
