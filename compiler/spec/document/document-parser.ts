/** Parses YAML and JSON text within limits that are checked while reading. */
import {
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  Lexer,
  LineCounter,
  Parser,
  type YAMLError,
} from "yaml";
import { InputError } from "./input-error.ts";

/** Well-formed document with its line positions. */
export interface ParsedDocument {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

/**
 * Most tokens of the parser: names, values, signs, spaces and line ends. A spec of 10,000 variants
 * has 150,000.
 */
const MAX_PARTS = 200_000;
/** Longest name or value; the longest valid field has 1000 characters. */
const MAX_PART_LENGTH = 65_536;
const MAX_NESTING = 200;
/** Open tokens of the parser in addition to nested values. */
const OPEN_AROUND = 2;

/** @throws InputError naming `file` and the place if the text is not well-formed, or too large. */
export function parseText(text: string, file: string): ParsedDocument {
  return withoutStacks(() => {
    const lines = new LineCounter();
    const options = {
      lineCounter: lines,
      prettyErrors: false,
      stringKeys: true,
      // Compares each key with all others of its mapping; document-values.ts looks them up.
      uniqueKeys: false,
      logLevel: "error",
    } as const;
    const composer = new Composer(options);
    const documents = composer.compose(tokensOf(text, file, lines), true, text.length);
    const [document, second] = documents;
    if (document === undefined || document.contents === null) throw emptyError(file);
    const fault = document.errors[0] ?? document.warnings[0];
    if (fault !== undefined) throw syntaxError(fault, file, lines);
    if (second !== undefined) {
      throw placedError(file, lines, second.range[0], "expected one document, got a second");
    }
    return { document: document as Document.Parsed, lines };
  });
}

/** Creates an error for a character position. */
export function placedError(
  file: string,
  lines: LineCounter,
  offset: number,
  message: string,
): InputError {
  const { line, col } = lines.linePos(offset);
  return new InputError("INPUT_SYNTAX", `${file}:${line}:${col}: ${message}`);
}

/** The parser recurses over these tokens, so this also bounds its stack. */
function* tokensOf(text: string, file: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let parts = 0;
  let offset = 0;
  const tooMuch = (expected: string) => placedError(file, lines, offset, `expected ${expected}`);
  for (const part of new Lexer().lex(text)) {
    parts++;
    if (parts > MAX_PARTS) throw tooMuch(`at most ${MAX_PARTS} names, values, signs and spaces`);
    if (part.length > MAX_PART_LENGTH && !part.startsWith("#") && part.trim() !== "") {
      throw tooMuch(`a name or value of at most ${MAX_PART_LENGTH} characters`);
    }
    yield* parser.next(part);
    offset = parser.offset;
    if (parser.stack.length > MAX_NESTING + OPEN_AROUND) {
      throw tooMuch(`at most ${MAX_NESTING} levels of nesting`);
    }
  }
  yield* parser.end();
}

/** Messages that replace unhelpful ones of the parser. */
const SYNTAX_MESSAGES: Partial<Record<ErrorCode, string>> = {
  MULTIPLE_DOCS: "expected one document, got a second",
};

function syntaxError(fault: YAMLError, file: string, lines: LineCounter): InputError {
  const message = SYNTAX_MESSAGES[fault.code] ?? fault.message.replaceAll(/\s+/g, " ");
  return placedError(file, lines, fault.pos[0], message);
}

function emptyError(file: string): InputError {
  return new InputError("INPUT_SYNTAX", `${file}: expected YAML or JSON, got an empty file`);
}

/**
 * The parser creates an error for each mistake; collecting unused stack traces takes most of its
 * time.
 */
function withoutStacks<T>(parse: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return parse();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
