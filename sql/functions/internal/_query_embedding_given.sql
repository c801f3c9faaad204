create or replace function loom._query_embedding_given(p_request jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'query_embedding';
begin
  if jsonb_typeof(v_value) <> 'object' or v_value - '{model,vector}'::text[] <> '{}'
    or jsonb_typeof(v_value -> 'model') is distinct from 'string' or jsonb_typeof(v_value -> 'vector') is distinct from 'array' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'query_embedding', 'reason', 'must be an object of model and vector')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return v_value;
end
$$;
comment on function loom._query_embedding_given(jsonb) is
  'The vector of a query, where the request has one. LM001 for another shape.';
