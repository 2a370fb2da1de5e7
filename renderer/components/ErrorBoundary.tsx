import { Component, type ErrorInfo, type ReactNode } from 'react';
import { Button } from './parts.tsx';

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly message: string | null;
}

/** Catches what a view throws, so that a fault of the window is said in it and never leaves it blank. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { message: null };

  static getDerivedStateFromError(error: unknown): State {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override componentDidCatch(error: unknown, info: ErrorInfo): void {
    console.error(error, info.componentStack);
  }

  override render(): ReactNode {
    const { message } = this.state;
    if (message === null) return this.props.children;
    return (
      <div className="window-fault" role="alert">
        <h1>This window could not be drawn</h1>
        <p>Nothing happened to any server; the tray and the command line go on. Draw it again, or close and open it.</p>
        <p className="second">{message}</p>
        <Button look="primary" onClick={() => this.setState({ message: null })}>
          Draw again
        </Button>
      </div>
    );
  }
}
