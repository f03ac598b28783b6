import type { ParsedSkill } from '../format/skill-file.ts';
import { clean } from './brief.ts';

type Diagnostic = ParsedSkill['diagnostics'][number];

/** `file:line:column: severity: message; cure`, the place as far as it is known. */
export function diagnosticText({ severity, message, file, line, column, cure }: Diagnostic): string {
  const place = file === undefined ? '' : `${[file, line, column].filter((part) => part !== undefined).join(':')}: `;
  return clean(`${place}${severity}: ${message}${cure === undefined ? '' : `; ${cure}`}`);
}

/** The same as `--json` prints it. */
export function diagnosticJson({ severity, code, message, file, line, column, cure }: Diagnostic): {
  [key: string]: string | number | null;
} {
  return {
    severity,
    code,
    message,
    file: file ?? null,
    line: line ?? null,
    column: column ?? null,
    ...(cure === undefined ? {} : { cure }),
  };
}
