import type { Diagnostic, JsonValue } from 'pith';

/** `file:line:column: severity: message; cure`. */
export function findingText({ severity, message, file, line, column, cure }: Diagnostic): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${place}: ${severity}: ${message}${cure === undefined ? '' : `; ${cure}`}`;
}

export function findingJson({ severity, code, message, file, line, column, cure }: Diagnostic): JsonValue {
  return { severity, code, message, file: file ?? null, line: line ?? null, column: column ?? null, cure: cure ?? null };
}
