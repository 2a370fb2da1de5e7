import { columnRole, ROW } from './parts.tsx';

export interface HeadColumn<Column extends string> {
  readonly column: Column;
  readonly word: string;
  readonly classes: string;
}

interface Props<Column extends string> {
  /** Class that sets the columns of head and rows. */
  readonly columns: string;
  readonly heads: readonly HeadColumn<Column>[];
  readonly sort: { readonly column: Column; readonly descending: boolean };
  readonly onSort: (column: Column) => void;
}

/** The heads of a list that can be sorted by any of its columns. */
export function GridHeads<Column extends string>({ columns, heads, sort, onSort }: Props<Column>) {
  return (
    <div className={`head ${columns}`} {...ROW}>
      {heads.map(({ column, word, classes }) => {
        const chosen = column === sort.column;
        const direction = sort.descending ? 'descending' : 'ascending';
        return (
          <div key={column} className={classes} {...columnRole(chosen ? direction : 'none')}>
            <button
              type="button"
              tabIndex={-1}
              className={chosen ? 'head-button sorted' : 'head-button'}
              onClick={() => onSort(column)}
            >
              {word}
              {chosen ? (sort.descending ? ' ↓' : ' ↑') : ''}
            </button>
          </div>
        );
      })}
    </div>
  );
}
