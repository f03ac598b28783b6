import type { ComponentChildren, VNode } from 'preact';

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** What is done with a row, in a last column without a visible name. */
  readonly action?: string;
  readonly children: ComponentChildren;
}

/** A table that scrolls sideways by itself where it is too wide. */
export function Table({ label, columns, action, children }: TableProps): VNode {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            {action !== undefined && (
              <th scope="col">
                <span class="unseen">{action}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
