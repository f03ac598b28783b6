import { createHash } from 'node:crypto';
import { type AttributeName, type Attributes, ATTRIBUTES, type Values } from './names.ts';

type Exported = string | number | boolean | string[];
export type ExportedAttributes = Readonly<Record<string, Exported>>;

/** Without blanks it cannot be a sentence. */
const ID = /^[\w.:/-]{1,128}$/u;
const CODE = /^[\w.-]{1,64}$/u;
/** OpenTelemetry's word for an error without a code. */
const OTHER = '_OTHER';

const BY_KIND: { readonly [Kind in keyof Values]: (value: Values[Kind], withTexts: boolean) => Exported | undefined } = {
  string: (value) => value,
  id: (value) => (ID.test(value) ? value : `sha256:${createHash('sha256').update(value).digest('hex').slice(0, 16)}`),
  code: codeOrOther,
  'code[]': (values) => values.map(codeOrOther),
  text: (make, withTexts) => (withTexts ? make() : undefined),
  number: (value) => value,
  boolean: (value) => value,
};

/** The attributes as they may leave the program: without texts unless a person wants them; an id that does not look like one becomes its digest, such a code `_OTHER`. */
export function exportable(attributes: Attributes, withTexts: boolean): ExportedAttributes {
  const kept: Record<string, Exported> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const exported = value === undefined ? undefined : kindOf(name)(value, withTexts);
    if (exported !== undefined) kept[name] = exported;
  }
  return kept;
}

function kindOf(name: string) {
  return BY_KIND[ATTRIBUTES[name as AttributeName]] as (value: unknown, withTexts: boolean) => Exported | undefined;
}

function codeOrOther(value: string): string {
  return CODE.test(value) ? value : OTHER;
}
