"""What modules of transformers hand to attention: compared with the plan, carried out, or refused."""
