// An entropy decoder as libjpeg-turbo has them, for files of one scan.
#include "lab/image/entropy_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "lab/image/bit_reader.hpp"
#include "lab/image/huffman_table.hpp"
//
#include <jerror.h>
// libjpeg-turbo's own interfaces, which its development packages have beside the others.
#if defined(LIBJPEG_TURBO_VERSION) && __has_include(<jpegint.h>)
#define JPEG_INTERNALS
#include <jpegint.h>
#define SING_OWN_ENTROPY_DECODER 1
#else
#define SING_OWN_ENTROPY_DECODER 0
#endif

namespace sing::lab::image {

#if SING_OWN_ENTROPY_DECODER

namespace {

constexpr int kLast = 63;  // of a block's 64 coefficients

// From the order in the file to rows of 8. Beyond the last, where a block's end and damaged files
// lead: the last, which then is 0 or nobody's concern.
constexpr std::array<std::uint8_t, 2 * 64> make_order() {
  std::array<std::uint8_t, 2 * 64> order{};
  int x = 0;
  int y = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    order[place] = static_cast<std::uint8_t>(8 * y + x);
    if (place >= kLast) {
      order[place] = kLast;
    } else if ((x + y) % 2 == 0) {  // up and to the right
      y == 0 || x == 7 ? (x == 7 ? ++y : ++x) : (++x, --y);
    } else {  // down and to the left
      x == 0 || y == 7 ? (y == 7 ? ++x : ++y) : (--x, ++y);
    }
  }
  return order;
}

constexpr auto kOrder = make_order();

void warn(jpeg_decompress_struct& info, int code) {
  info.err->msg_code = code;
  info.err->emit_message(reinterpret_cast<j_common_ptr>(&info), -1);
}

// The bytes up to the next marker, without the zeros that stand behind bytes 255.
void copy_scan(const jpeg_source_mgr& source, std::vector<std::uint8_t>& bytes) {
  const JOCTET* in = source.next_input_byte;
  const JOCTET* const end = in + source.bytes_in_buffer;
  bytes.resize(source.bytes_in_buffer + BitReader::kBehind);
  std::uint8_t* out = bytes.data();
  while (in < end) {
    const void* const mark = std::memchr(in, 0xFF, static_cast<std::size_t>(end - in));
    const JOCTET* const stop = mark != nullptr ? static_cast<const JOCTET*>(mark) : end;
    out = std::copy(in, stop, out);
    in = std::find_if(stop, end, [](JOCTET byte) { return byte != 0xFF; });
    if (in == end || *in != 0) {
      break;
    }
    ++in;
    *out++ = 0xFF;
  }
  std::fill_n(out, BitReader::kBehind, std::uint8_t{0});
  bytes.resize(static_cast<std::size_t>(out - bytes.data()) + BitReader::kBehind);
}

}  // namespace

struct EntropyDecoder::State : jpeg_entropy_decoder {
  std::vector<std::uint8_t> bytes;
  BitReader reader;
  std::array<HuffmanTable, NUM_HUFF_TBLS> first_tables;  // of blocks' first coefficients
  std::array<HuffmanTable, NUM_HUFF_TBLS> tables;        // of the others
  std::array<int, MAX_COMPS_IN_SCAN> last_first{};       // which are stored as differences
  int column = 0;
  int first_column = 0;
  int end_column = 0;

  static boolean decode_next(j_decompress_ptr info, JBLOCKROW* blocks) {
    static_cast<State*>(info->entropy)->decode(*info, blocks);
    return TRUE;
  }

  // The blocks of the next MCU; `blocks` is null where nobody wants them, or all zero.
  void decode(jpeg_decompress_struct& info, JBLOCKROW* blocks) {
    const bool is_wanted = blocks != nullptr && column >= first_column && column < end_column;
    column = column + 1 == static_cast<int>(info.MCUs_per_row) ? 0 : column + 1;
    BitReader local = reader;  // in registers: the blocks' memory could else be the reader's
    for (int place = 0; place < info.blocks_in_MCU; ++place) {
      const int member = info.MCU_membership[place];
      const jpeg_component_info& plane = *info.cur_comp_info[member];
      local.refill();
      const CodedValue first =
          first_tables[static_cast<std::size_t>(plane.dc_tbl_no)].value(local.bits());
      local.drop(first.length);
      int& sum = last_first[static_cast<std::size_t>(member)];
      sum = static_cast<std::int16_t>(sum + first.value);
      const HuffmanTable& table = tables[static_cast<std::size_t>(plane.ac_tbl_no)];
      bool is_right = first.length != 0;
      if (is_wanted) {
        JCOEF* const block = *blocks[place];
        block[0] = static_cast<JCOEF>(sum);
        is_right = read_block(local, table, block) && is_right;
      } else {
        is_right = pass_block(local, table) && is_right;
      }
      if (!is_right || local.is_past_end()) {
        warn(info, local.is_past_end() ? JWRN_HIT_MARKER : JWRN_HUFF_BAD_CODE);
      }
    }
    reader = local;
  }

  // look(place) says which codes are next and writes their values. After one that the table has,
  // the bits of a refill are enough for a second of any length. False where there is no code.
  template <class Look>
  static bool for_each_look(BitReader& reader, const Look& look) {
    int place = 0;
    const auto go_on = [&](const SeveralCodes& codes) {
      reader.drop(codes.length);
      place += codes.advance;
    };
    while (place < kLast) {
      reader.refill();
      const SeveralCodes first = look(place);
      go_on(first);
      SeveralCodes last = first;
      if (place < kLast && first.length <= HuffmanTable::kLookBits) {
        last = look(place);
        go_on(last);
      }
      if (first.length == 0 || last.length == 0) {
        return false;
      }
    }
    return true;
  }

  static bool read_block(BitReader& reader, const HuffmanTable& table, JCOEF* block) {
    const auto put = [&](int place, std::int16_t value) {
      block[kOrder[static_cast<std::size_t>(place)]] = value;
    };
    return for_each_look(reader, [&](int place) {
      const CodedPair pair = table.pair(reader.bits());
      if (place + pair.codes.before_last < kLast) {
        put(place + pair.first_advance, pair.first);
        put(place + pair.codes.advance, pair.second);
        return pair.codes;
      }
      const CodedValue next = table.value(reader.bits());
      put(place + next.advance, next.value);
      return SeveralCodes{0, next.advance, next.length};
    });
  }

  static bool pass_block(BitReader& reader, const HuffmanTable& table) {
    return for_each_look(reader, [&](int place) {
      const SeveralCodes codes = table.several(reader.bits());
      if (place + codes.before_last < kLast) {
        return codes;
      }
      const CodedValue next = table.value(reader.bits());
      return SeveralCodes{0, next.advance, next.length};
    });
  }
};

EntropyDecoder::EntropyDecoder() : state_(std::make_unique<State>()) {
  state_->start_pass = [](j_decompress_ptr) {};
  state_->decode_mcu = State::decode_next;
  state_->insufficient_data = FALSE;
}

void EntropyDecoder::take_over(jpeg_decompress_struct& info, int left, int right) {
  if (info.progressive_mode || info.arith_code || info.restart_interval != 0 ||
      jpeg_has_multiple_scans(&info)) {
    return;
  }
  State& state = *state_;
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const jpeg_component_info& plane = *info.cur_comp_info[i];
    state.first_tables[static_cast<std::size_t>(plane.dc_tbl_no)].set(
        *info.dc_huff_tbl_ptrs[plane.dc_tbl_no]);
    state.tables[static_cast<std::size_t>(plane.ac_tbl_no)].set(
        *info.ac_huff_tbl_ptrs[plane.ac_tbl_no]);
  }
  copy_scan(*info.src, state.bytes);
  state.reader = BitReader(state.bytes.data(), state.bytes.size() - BitReader::kBehind);
  state.last_first.fill(0);
  state.column = 0;
  const int width =
      static_cast<int>(info.scale_num) * (info.comps_in_scan == 1 ? 1 : info.max_h_samp_factor);
  state.first_column = left / width;
  state.end_column = (right + width - 1) / width;
  info.entropy = &state;
}

#else

struct EntropyDecoder::State {};

EntropyDecoder::EntropyDecoder() = default;

void EntropyDecoder::take_over(jpeg_decompress_struct&, int, int) {}

#endif

EntropyDecoder::~EntropyDecoder() = default;

}  // namespace sing::lab::image
