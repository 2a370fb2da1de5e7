import { useRollcall, useWindow } from '../state/context.tsx';
import { Button } from './parts.tsx';

/** What a list is narrowed to, and the way out of it. */
export function ScopeLine() {
  const { store } = useRollcall();
  const scope = useWindow((state) => state.scope);
  if (scope === null) return null;
  return (
    <div className="scope">
      <span className="clip" title={scope.name}>
        Only {scope.type === 'session' ? `“${scope.name}”` : scope.name}
      </span>
      <Button look="link" onClick={() => store.setState({ scope: null })}>
        Show all
      </Button>
    </div>
  );
}
