// Syntax highlighting of code in answers, by highlight.js with the languages that answers are about.
//
// Returns HTML whose only elements are `span`s with classes; the colours are in media/chat.css.

import highlighter from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin, lua, php, python, ruby, rust, sql,
  typescript, xml, yaml,
};

/** Longer code, and code with longer lines, is not highlighted: some grammars take quadratic time. */
const MAX_CODE_CHARACTERS = 10_000;
const LONG_LINE = /.{500}/;

for (const [name, language] of Object.entries(LANGUAGES)) highlighter.registerLanguage(name, language);

/** HTML of the code; null in a language that is not known. `info` is the text behind the marks that open the fence. */
export function highlight(code: string, info: string): string | null {
  const language = /^[^\s{,]*/.exec(info)![0];
  if (code.length > MAX_CODE_CHARACTERS || LONG_LINE.test(code) || !highlighter.getLanguage(language)) return null;
  return highlighter.highlight(code, { language, ignoreIllegals: true }).value;
}
