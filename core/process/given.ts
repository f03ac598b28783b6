import { type JsonValue, PithError } from '../contract/index.ts';
import { toJsonValue } from '../kernel/index.ts';

/** A text among the arguments of a call; `what` names it. Throws `parameter_invalid`. */
export function givenText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new PithError('parameter_invalid', `${what} must be a text`);
}

/** An object among the arguments of a call, as JSON; `what` names it. Throws `parameter_invalid` or `not_serialisable`. */
export function givenObject(value: unknown, what: string): { readonly [key: string]: JsonValue | undefined } {
  const json = toJsonValue(value, what);
  if (typeof json === 'object' && json !== null && !isList(json)) return json;
  throw new PithError('parameter_invalid', `${what} must be an object`);
}

/** A list of at most `most` texts. Throws `parameter_invalid`. */
export function givenTexts(value: unknown, what: string, most: number): readonly string[] {
  if (Array.isArray(value) && value.length <= most && value.every((each) => typeof each === 'string')) return value as string[];
  throw new PithError('parameter_invalid', `${what} must be a list of at most ${most} texts`);
}

/** A text for people, cut to what anyone reads. */
export function cutText(value: unknown, most: number): string {
  if (typeof value !== 'string') return '';
  return value.length > most ? `${value.slice(0, most)}…` : value;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
