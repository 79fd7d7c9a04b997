// Represents a point or gradient as one vector of doubles, split into tensors: the paper's I₁ …
// I_D.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sing/optim/parameter.hpp"

namespace sing::lab::theory {

using Vector = std::vector<double>;
using Shape = std::vector<std::int64_t>;
using Shapes = std::vector<Shape>;

inline std::size_t size_of(const Shapes& shapes) {
  std::size_t size = 0;
  for (const Shape& shape : shapes) {
    size += count_elements(shape);
  }
  return size;
}

inline Shapes repeat(std::size_t count, const Shape& shape) { return Shapes(count, shape); }

inline double dot(std::span<const double> one, std::span<const double> other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    sum += one[i] * other[i];
  }
  return sum;
}

// Returns √D for D tensors.
inline double root(std::size_t count) { return std::sqrt(static_cast<double>(count)); }

inline double norm(std::span<const double> vector) { return std::sqrt(dot(vector, vector)); }

inline Vector scaled(Vector vector, double factor) {
  for (double& each : vector) {
    each *= factor;
  }
  return vector;
}

// Computes target += factor · direction.
inline void add_scaled(Vector& target, double factor, std::span<const double> direction) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] += factor * direction[i];
  }
}

inline Vector difference(Vector one, const Vector& other) {
  add_scaled(one, -1, other);
  return one;
}

inline double largest(std::span<const double> vector) {
  double most = 0;
  for (const double each : vector) {
    most = std::max(most, std::abs(each));
  }
  return most;
}

// Calls visit(block, rank) for every tensor's part of the vector.
template <class Values, class Visitor>
void for_each_block(const Shapes& shapes, Values& values, const Visitor& visit) {
  std::size_t at = 0;
  for (const Shape& shape : shapes) {
    const std::size_t size = count_elements(shape);
    visit(std::span(values).subspan(at, size), shape.size());
    at += size;
  }
}

// Calls visit(row) for every row of every tensor of rank ≥ 2.
template <class Values, class Visitor>
void for_each_row(const Shapes& shapes, Values& values, const Visitor& visit) {
  std::size_t at = 0;
  for (const Shape& shape : shapes) {
    const std::size_t size = count_elements(shape);
    if (shape.size() >= 2) {
      const std::size_t length = size / static_cast<std::size_t>(shape.front());
      for (std::size_t start = 0; start < size; start += length) {
        visit(std::span(values).subspan(at + start, length));
      }
    }
    at += size;
  }
}

inline double mean(std::span<const double> values) {
  double sum = 0;
  for (const double each : values) {
    sum += each;
  }
  return sum / static_cast<double>(values.size());
}

inline Vector row_means(const Shapes& shapes, const Vector& values) {
  Vector means;
  for_each_row(shapes, values, [&](std::span<const double> row) { means.push_back(mean(row)); });
  return means;
}

// Computes φ as the paper defines it, independently of the library: the mean of each row is
// subtracted for rank ≥ 2.
inline Vector centred(const Shapes& shapes, Vector values) {
  for_each_row(shapes, values, [](std::span<double> row) {
    const double middle = mean(row);
    for (double& each : row) {
      each -= middle;
    }
  });
  return values;
}

// Returns N of Lemmas 2 and 4: the sum of the tensors' norms.
inline double sum_of_block_norms(const Shapes& shapes, const Vector& values) {
  double sum = 0;
  for_each_block(shapes, values,
                 [&](std::span<const double> block, std::size_t) { sum += norm(block); });
  return sum;
}

}  // namespace sing::lab::theory
