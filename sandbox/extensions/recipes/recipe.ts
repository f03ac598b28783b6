import type { Diagnostic } from 'pith';

export interface RecipeArgument {
  readonly name: string;
  readonly description: string;
  /** null: it is required. */
  readonly default: string | null;
}

/** A message template. */
export interface Recipe {
  /** The file's name without `.md`. */
  readonly name: string;
  /** Its source: `sandbox/recipes`, `~/.pith/recipes` or `bundled`. */
  readonly source: string;
  readonly file: string;
  readonly description: string;
  /** Declared ones in order, then those that only the text names. */
  readonly arguments: readonly RecipeArgument[];
  /** The argument that takes words without a name; null: none does. */
  readonly freeText: string | null;
  readonly body: string;
  readonly findings: readonly Diagnostic[];
}

/** A file that is not a recipe; an error among its findings says why. */
export interface BrokenRecipe {
  readonly name: string;
  readonly source: string;
  readonly file: string;
  readonly findings: readonly Diagnostic[];
  /** False: a good recipe has that name. */
  readonly shown: boolean;
}

export function isBroken(one: Recipe | BrokenRecipe): one is BrokenRecipe {
  return 'shown' in one;
}

/** `file:line: message; cure` of the error that makes it unusable. */
export function whyBroken({ findings }: Pick<BrokenRecipe, 'findings'>): Diagnostic {
  return findings.find(({ severity }) => severity === 'error') as Diagnostic;
}
