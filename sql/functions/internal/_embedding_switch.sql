create or replace function loom._embedding_switch(p_model text, p_at timestamptz) returns void
language plpgsql volatile
as $$
declare
  v_former text;
begin
  update loom.embedding_model set state = 'retired', retired_at = p_at
  where state = 'active' and model <> p_model
  returning model into v_former;
  update loom.embedding_model set state = 'active', activated_at = p_at where model = p_model;
  delete from loom.embedding_due where model = v_former;
end
$$;
comment on function loom._embedding_switch(text, timestamptz) is
  'Makes a model the one by which searches go. The vectors of the former one stay until an operator drops them.';
