// The status of each exception type, and the last error of each thread.
#include "sing/c_api/guard.hpp"

#include <exception>
#include <filesystem>
#include <new>
#include <string>

namespace sing::c_api {
namespace {

struct LastError {
  std::string message;
  const char* text = "";  // the message, or a literal if there is no memory for it
};

thread_local LastError last_error;

sing_status record(sing_status status, const char* message) noexcept {
  try {
    last_error.message = message;
    last_error.text = last_error.message.c_str();
  } catch (...) {
    last_error.text = "[sing] wanted memory for the message of an error, got none";
  }
  return status;
}

}  // namespace

sing_status record_exception() noexcept {
  try {
    throw;
  } catch (const std::invalid_argument& error) {
    return record(SING_INVALID_ARGUMENT, error.what());
  } catch (const NonFiniteError& error) {
    return record(SING_NON_FINITE, error.what());
  } catch (const FileError& error) {
    return record(SING_FILE_ERROR, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return record(SING_FILE_ERROR, error.what());
  } catch (const CudaError& error) {
    return record(SING_CUDA_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return record(SING_OUT_OF_MEMORY, "[sing] wanted memory, got none");
  } catch (const std::exception& error) {
    return record(SING_INTERNAL_ERROR, error.what());
  } catch (...) {
    return record(SING_INTERNAL_ERROR,
                  "[sing] wanted success, got an exception that is no std::exception");
  }
}

}  // namespace sing::c_api

const char* sing_last_error(void) { return sing::c_api::last_error.text; }
