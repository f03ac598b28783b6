import { AREAS, type Case } from './case.ts';
import { BODIES, ENCODINGS, SIZES } from './cases/bytes.ts';
import { DESCRIPTIONS, FIELDS } from './cases/fields.ts';
import { FILE_NAMES } from './cases/file-names.ts';
import { FRONTMATTER } from './cases/frontmatter.ts';
import { HOSTILE } from './cases/hostile.ts';
import { NAMES, NAMES_I18N } from './cases/names.ts';
import { NESTING, SPECIAL_FILES } from './cases/places.ts';
import { VALUES, YAML } from './cases/yaml.ts';

/** Every case, in the order of the areas. */
export function conformanceCases(): readonly Case[] {
  const all = [
    FILE_NAMES,
    FRONTMATTER,
    YAML,
    VALUES,
    NAMES,
    NAMES_I18N,
    FIELDS,
    DESCRIPTIONS,
    BODIES,
    ENCODINGS,
    SPECIAL_FILES,
    SIZES,
    NESTING,
    HOSTILE,
  ].flat();
  return AREAS.flatMap((area) => all.filter((one) => one.area === area));
}
