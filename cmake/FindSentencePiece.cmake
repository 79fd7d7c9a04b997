# Finds the library sentencepiece, with its trainer, and defines the target SentencePiece::SentencePiece.
include(FindPackageHandleStandardArgs)

find_path(SentencePiece_INCLUDE_DIR sentencepiece_trainer.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)
find_package_handle_standard_args(SentencePiece REQUIRED_VARS SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY
                                                              SentencePiece_INCLUDE_DIR)
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)

if(SentencePiece_FOUND AND NOT TARGET SentencePiece::SentencePiece)
  add_library(SentencePiece::SentencePiece INTERFACE IMPORTED)
  target_include_directories(SentencePiece::SentencePiece SYSTEM INTERFACE ${SentencePiece_INCLUDE_DIR})
  target_link_libraries(SentencePiece::SentencePiece INTERFACE ${SentencePiece_TRAIN_LIBRARY} ${SentencePiece_LIBRARY})
endif()
