// Handles libjpeg's errors: jumps out of its functions and keeps the message for a FileError.
#pragma once

#include <cstddef>
#include <cstdio>
// jpeglib.h needs the headers above.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <string>

#include "sing/base/error.hpp"

namespace sing::lab::image {

// Limit on the scans of a progressive file, as libjpeg-turbo recommends. Each scan takes as long as
// decoding the whole image, and a small file can have thousands of scans.
constexpr int kMostScans = 100;

// No object with a destructor may live between setjmp and the calls of libjpeg's functions.
struct JpegErrors {
  jpeg_error_mgr manager;  // must be first: libjpeg passes its address to the handlers
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];

  jpeg_error_mgr* start() {
    jpeg_std_error(&manager);
    manager.error_exit = leave;
    manager.emit_message = judge;
    message[0] = '\0';
    return &manager;
  }

  // A progress monitor: libjpeg calls it several times per scan.
  static void refuse_many_scans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) {
      auto* const errors = reinterpret_cast<JpegErrors*>(info->err);
      std::snprintf(errors->message, sizeof(errors->message), "wanted at most %d scans, got more",
                    kMostScans);
      std::longjmp(errors->jump, 1);
    }
  }

 private:
  [[noreturn]] static void leave(j_common_ptr info) {
    auto* const errors = reinterpret_cast<JpegErrors*>(info->err);
    info->err->format_message(info, errors->message);
    std::longjmp(errors->jump, 1);
  }

  // Warnings after which libjpeg invents pixels count as errors. The others (bytes between markers,
  // unusual headers) do not affect the pixels.
  static void judge(j_common_ptr info, int level) {
    if (level >= 0) {
      return;
    }
    switch (info->err->msg_code) {
      case JWRN_JPEG_EOF:
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_MUST_RESYNC:
        leave(info);
      default:
        return;
    }
  }
};

}  // namespace sing::lab::image
