import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ApiError } from '../server/api.ts';

type Path = readonly (string | number)[];

interface WrongField {
  readonly path: Path;
  readonly message: string;
}

/** Fields of what was sent that the server refuses. */
export function wrongFields(error: ApiError | null): readonly WrongField[] {
  const { problems } = Object(error?.answer['error']) as { readonly problems?: unknown };
  return Array.isArray(problems) ? (problems as readonly WrongField[]) : [];
}

/** What is wrong with a field and all below it; null: nothing. */
export function problemAt(wrong: readonly WrongField[], ...place: Path): string | null {
  const found = wrong.filter(({ path }) => place.every((part, at) => path[at] === part));
  return found.length === 0 ? null : found.map(({ message }) => message).join('; ');
}

/** Whether a form with fields at these places shows all that is wrong. */
export function isAllPlaced(wrong: readonly WrongField[], places: readonly Path[]): boolean {
  return wrong.length > 0 && wrong.every(({ path }) => places.some((place) => place.every((part, at) => path[at] === part)));
}

/** Brings a person to the first field that was refused. */
export function useFirstWrong(error: ApiError | null, form: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
}
