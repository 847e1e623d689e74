/** A tokenizer.json as BERT's is, with a few words; and what theirs in Rust makes of it. */

const WORDS =
  "[PAD] [UNK] [CLS] [SEP] the quick brown fox jump ##s ##ed over un ##believ ##able cafe";
const MARKS = ", . ! ' 你 好 ##1 1 ##2 2";

const vocab = Object.fromEntries(`${WORDS} ${MARKS}`.split(" ").map((token, id) => [token, id]));
const special = (content: string, id: number) => {
  return {
    id,
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  };
};

export const TINY_TOKENIZER = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map(special),
  normalizer: {
    type: "BertNormalizer",
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: {
    type: "TemplateProcessing",
    single: [
      { SpecialToken: { id: "[CLS]", type_id: 0 } },
      { Sequence: { id: "A", type_id: 0 } },
      { SpecialToken: { id: "[SEP]", type_id: 0 } },
    ],
    pair: [
      { SpecialToken: { id: "[CLS]", type_id: 0 } },
      { Sequence: { id: "A", type_id: 0 } },
      { SpecialToken: { id: "[SEP]", type_id: 0 } },
      { Sequence: { id: "B", type_id: 1 } },
      { SpecialToken: { id: "[SEP]", type_id: 1 } },
    ],
    special_tokens: {
      "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
      "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] },
    },
  },
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab,
  },
};

/** Text, second text or null, length, and what tokenizers 0.23.2 gives: numbers and types. */
export const TEXTS: readonly (readonly [string, string | null, number, number[], number[]])[] = [
  [
    "The quick brown fox jumps over, jumped!",
    null,
    16,
    [2, 4, 5, 6, 7, 8, 9, 11, 16, 8, 10, 18, 3],
    [],
  ],
  ["Unbelievable CAFÉ 你好 12.", null, 16, [2, 12, 13, 14, 15, 20, 21, 23, 24, 17, 3], []],
  ["zebra the", null, 16, [2, 1, 4, 3], []],
  ["", null, 16, [2, 3], []],
  ["the quick brown fox jumps over the quick brown fox", null, 8, [2, 4, 5, 6, 7, 8, 9, 3], []],
  ["the [SEP] fox", null, 16, [2, 4, 3, 7, 3], []],
  ["the quick brown", "fox jumps", 16, [2, 4, 5, 6, 3, 7, 8, 9, 3], [0, 0, 0, 0, 0, 1, 1, 1, 1]],
  [
    "the quick brown fox",
    "fox jumps over the quick brown fox",
    10,
    [2, 4, 5, 6, 3, 7, 8, 9, 11, 3],
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
  ],
  ["the quick brown fox jumps over", "fox", 7, [2, 4, 5, 6, 3, 7, 3], [0, 0, 0, 0, 0, 1, 1]],
];
