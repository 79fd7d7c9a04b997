// Defines a tensor in a backend's memory between sentinels, filled from and read back to the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sing/backend/backend.hpp"
#include "sing/base/element_access.hpp"
#include "sing/optim/parameter.hpp"

namespace sing::test {

class DeviceTensor {
 public:
  static constexpr std::size_t kGuardBytes = 64;
  static constexpr char kSentinel = '\x5a';

  // Fills the tensor with zeros. `offset` is the number of elements by which the memory is
  // misaligned.
  DeviceTensor(std::shared_ptr<Backend> backend, Dtype dtype, std::vector<std::int64_t> shape,
               std::size_t offset = 0)
      : backend_(std::move(backend)),
        dtype_(dtype),
        shape_(std::move(shape)),
        begin_(kGuardBytes + offset * size_of(dtype)),
        bytes_(static_cast<std::size_t>(product(shape_)) * size_of(dtype)) {
    const std::string guarded(begin_ + bytes_ + kGuardBytes, kSentinel);
    memory_ = backend_->allocate(guarded.size());
    backend_->write(memory_.get(), guarded.data(), guarded.size());
    set_bytes(std::string(bytes_, '\0'));
  }

  DeviceTensor(std::shared_ptr<Backend> backend, Dtype dtype, std::vector<std::int64_t> shape,
               std::span<const double> values)
      : DeviceTensor(std::move(backend), dtype, std::move(shape)) {
    set(values);
  }

  std::int64_t size() const { return product(shape_); }
  Dtype dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  void* data() const { return static_cast<std::byte*>(memory_.get()) + begin_; }

  void set(std::span<const double> values) {
    std::string bytes(bytes_, '\0');
    for (std::size_t i = 0; i < values.size(); ++i) {
      store_element(bytes.data(), dtype_, static_cast<std::int64_t>(i), values[i]);
    }
    set_bytes(bytes);
  }

  void set_bytes(const std::string& bytes) { backend_->write(data(), bytes.data(), bytes_); }

  std::string bytes() const {
    std::string bytes(bytes_, '\0');
    backend_->read(bytes.data(), data(), bytes_);
    return bytes;
  }

  std::vector<double> values() const { return values_of(bytes(), dtype_); }

  static std::vector<double> values_of(const std::string& bytes, Dtype dtype) {
    std::vector<double> values(bytes.size() / size_of(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = load_element(bytes.data(), dtype, static_cast<std::int64_t>(i));
    }
    return values;
  }

  bool sentinels_intact() const {
    std::string whole(begin_ + bytes_ + kGuardBytes, '\0');
    backend_->read(whole.data(), memory_.get(), whole.size());
    const auto is_sentinel = [](char byte) { return byte == kSentinel; };
    return std::all_of(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(begin_),
                       is_sentinel) &&
           std::all_of(whole.end() - kGuardBytes, whole.end(), is_sentinel);
  }

  // Returns the tensor as a parameter that has no gradient yet.
  Parameter parameter(std::string name) const {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.data = data();
    parameter.shape = shape_;
    parameter.dtype = dtype_;
    return parameter;
  }

  Parameter parameter(std::string name, const DeviceTensor& gradient) const {
    Parameter with_gradient = parameter(std::move(name));
    with_gradient.gradient = gradient.data();
    with_gradient.gradient_dtype = gradient.dtype();
    return with_gradient;
  }

 private:
  std::shared_ptr<Backend> backend_;
  Dtype dtype_;
  std::vector<std::int64_t> shape_;
  std::size_t begin_;  // byte at which the tensor begins in memory_
  std::size_t bytes_;
  std::shared_ptr<void> memory_;
};

}  // namespace sing::test
